/** One route: description, fields for parameters, the request in several languages, response. */
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Card } from '../parts/card.tsx';
import { formatNumber } from '../view/format.ts';
import { fillPath, type Operation, type Parameter } from './document.ts';
import { MarkUp } from './mark-up.tsx';
import { SnippetCard } from './snippet-card.tsx';
import { type Outcome, tryRequest } from './trial.ts';

/** Default for the parameter `limit`, so that a trial does not request the whole list. */
const FIRST_LIMIT = '10';

export function OperationView({ operation }: { readonly operation: Operation }) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() => firstValues(operation));
  const [accept, setAccept] = useState(operation.mediaTypes[0] ?? 'application/json');
  const path = fillPath(operation, values);
  const isFilled = operation.parameters.every(({ in: place, name }) => place === 'query' || values[name]);
  return (
    <div className="stack operation">
      <Card title={operation.summary} note={<code className="operation-path">GET {operation.path}</code>}>
        <p className="card-text">
          <MarkUp text={operation.description} />
        </p>
        <div className="operation-fields">
          {operation.parameters.map((parameter) => (
            <ParameterField
              key={parameter.name}
              parameter={parameter}
              value={values[parameter.name] ?? ''}
              onChange={(value) => setValues({ ...values, [parameter.name]: value })}
            />
          ))}
          {operation.mediaTypes.length > 1 && (
            <label className="field">
              Format
              <select className="input" value={accept} onChange={(event) => setAccept(event.target.value)}>
                {operation.mediaTypes.map((type) => (
                  <option key={type}>{type}</option>
                ))}
              </select>
            </label>
          )}
        </div>
      </Card>
      <SnippetCard wanted={{ url: location.origin + path, accept }} />
      <TrialCard key={operation.id} path={path} accept={accept} isFilled={isFilled} />
    </div>
  );
}

function firstValues({ parameters }: Operation): Readonly<Record<string, string>> {
  return Object.fromEntries(
    parameters.filter(({ name }) => name === 'limit').map(({ name }) => [name, FIRST_LIMIT]),
  );
}

function ParameterField({
  parameter: { name, description = '', in: place, schema, example },
  value,
  onChange,
}: {
  readonly parameter: Parameter;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const words = schema?.enum;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: it contains one of the two fields
    <label className="field">
      <span>
        <code>{name}</code>
        {place === 'path' && ' (required)'}
      </span>
      {words === undefined ? (
        <input
          className="input"
          value={value}
          spellCheck={false}
          placeholder={example === undefined ? '' : `e.g. ${example}`}
          onChange={(event) => onChange(event.target.value.trim())}
        />
      ) : (
        <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="" />
          {words.map((word) => (
            <option key={word}>{word}</option>
          ))}
        </select>
      )}
      <span className="field-note">
        <MarkUp text={description} />
      </span>
    </label>
  );
}

function TrialCard({
  path,
  accept,
  isFilled,
}: {
  readonly path: string;
  readonly accept: string;
  readonly isFilled: boolean;
}) {
  const [outcome, setOutcome] = useState<Outcome | string>();
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setBusy(true);
    try {
      setOutcome(await tryRequest(path, accept, abort.signal));
    } catch (error) {
      if (abort.signal.aborted) return;
      setOutcome(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return (
    <Card title="Try it" note="Uses the API key of this tab">
      <form className="trial" onSubmit={(event) => void send(event)}>
        <code className="trial-path">{path}</code>
        <button type="submit" className="button button-main" disabled={!isFilled || isBusy}>
          Send
        </button>
      </form>
      {!isFilled && <p className="card-note">Fill in the required fields first.</p>}
      <div aria-live="polite">
        {typeof outcome === 'string' && <p className="export-state is-failed">{outcome}</p>}
        {typeof outcome === 'object' && (
          <p className={outcome.isGood ? 'trial-status' : 'trial-status is-failed'}>
            Status {outcome.status} in {formatNumber(Math.round(outcome.milliseconds))} ms
            {outcome.isCut && ', first 64 KiB shown'}
          </p>
        )}
      </div>
      {typeof outcome === 'object' && <OutcomeView outcome={outcome} />}
    </Card>
  );
}

function OutcomeView({ outcome }: { readonly outcome: Outcome }) {
  return (
    <>
      <dl className="trial-fields">
        {outcome.fields.map(([name, value]) => (
          <div key={name} className="trial-field">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard */}
      <pre className="code" tabIndex={0}>
        {outcome.text}
      </pre>
    </>
  );
}
