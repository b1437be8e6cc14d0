/** Strict parsing of the query string: unknown input is refused, never ignored (decisions 5, 6). */
import { AppError } from '../../domain/app-error.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { PARAMETERS, type Parameter, type ParameterName, type Parameters } from './parameters.ts';

/**
 * Throws `parameter-unknown`, `parameter-repeated`, `parameter-malformed` or `range-reversed`. The
 * query must be decodable, which `RequestTarget.fault` checks.
 */
export function readParameters(query: string, known: readonly ParameterName[]): Parameters {
  const given = new Map<ParameterName, string>();
  for (const [name, text] of new URLSearchParams(query)) {
    const parameter = known.find((candidate) => candidate === name);
    if (parameter === undefined) throw unknownParameter(name, known);
    if (given.has(parameter)) {
      throw new AppError(
        'parameter-repeated',
        `The parameter "${name}" is given more than once. Give it once.`,
      );
    }
    given.set(parameter, text);
  }
  const parameters: Parameters = Object.assign({}, ...known.map((name) => readOne(name, given)));
  checkTogether(parameters);
  return parameters;
}

function readOne<N extends ParameterName>(name: N, given: ReadonlyMap<ParameterName, string>): Parameters {
  const text = given.get(name);
  if (text === undefined) return {};
  const parameter: Parameter<unknown> = PARAMETERS[name];
  const value = parameter.read(text);
  if (value !== undefined) return { [name]: value };
  const expected = parameter.advise?.(text) ?? parameter.expected;
  throw new AppError('parameter-malformed', `The parameter "${name}" must be ${expected}.`);
}

/** A later release gives it a meaning, so no release may ignore it or use it for anything else. */
const RESERVED = 'version';

function unknownParameter(name: string, known: readonly ParameterName[]): AppError {
  if (name === RESERVED) {
    return new AppError(
      'parameter-unknown',
      `The parameter "${RESERVED}" is reserved for pinning a version of the data, which this server cannot do yet. Leave it out.`,
    );
  }
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
  return new AppError(
    'parameter-unknown',
    `The parameter "${name.slice(0, 100)}" is unknown here.${hint} Known are: ${known.join(', ')}.`,
  );
}

function checkTogether(parameters: Parameters): void {
  const { start, end, limit, cursor, since, token, compare, by, property } = parameters;
  if (start !== undefined && end !== undefined && start > end) {
    throw new AppError(
      'range-reversed',
      'The range ends before it starts. Give a "start" that is not later than "end".',
    );
  }
  if (compare !== undefined && (start === undefined || end === undefined)) {
    throw new AppError(
      'parameter-malformed',
      'The parameter "compare" needs a range. Send "start" and "end" with it.',
    );
  }
  if (cursor !== undefined && limit === undefined) {
    throw new AppError(
      'parameter-malformed',
      'The parameter "cursor" needs "limit". Repeat the limit with the cursor.',
    );
  }
  if (token !== undefined && since === undefined) {
    throw new AppError(
      'parameter-malformed',
      'The parameter "token" needs "since". Send "since=start" for everything, or an earlier sync token.',
    );
  }
  if ((by === 'lms') !== (property !== undefined)) {
    throw new AppError(
      'parameter-malformed',
      'The parameters "by=lms" and "property" need each other. Send both, or neither.',
    );
  }
}
