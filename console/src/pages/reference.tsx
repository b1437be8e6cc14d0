/** The reference of both variants and of the insights, from their OpenAPI documents. */
import { useQueries } from '@tanstack/react-query';
import { Page } from '../parts/page.tsx';
import { Failure, Skeleton } from '../parts/states.tsx';
import { DOCUMENTS, type Interface, type Operation, readInterface } from '../reference/document.ts';
import { OperationView } from '../reference/operation-view.tsx';
import { useParameters } from '../view/use-view.ts';

export function ReferencePage() {
  const answers = useQueries({
    queries: DOCUMENTS.map((path) => ({
      queryKey: ['document', path],
      queryFn: () => loadDocument(path),
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  const error = answers.find((answer) => answer.error !== null)?.error;
  const interfaces = answers.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return (
    <Page title="API" note="The API behind this console, available to every API key">
      {error !== undefined && error !== null ? (
        <Failure error={error} onRetry={() => location.reload()} />
      ) : interfaces.length < DOCUMENTS.length ? (
        <Skeleton height={480} />
      ) : (
        <Reference interfaces={interfaces} />
      )}
    </Page>
  );
}

async function loadDocument(path: string): Promise<Interface> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path} returned status ${response.status}.`);
  return readInterface(await response.json());
}

function Reference({ interfaces }: { readonly interfaces: readonly Interface[] }) {
  const [parameters, change] = useParameters();
  const all = interfaces.flatMap(({ operations }) => operations);
  const operation = all.find(({ id }) => id === parameters.get('op')) ?? all[0];
  return (
    <div className="reference">
      <label className="field reference-select">
        Route
        <select
          className="input"
          value={operation?.id}
          onChange={(event) => change({ op: event.target.value })}
        >
          {interfaces.map(({ title, operations }) => (
            <optgroup key={title} label={title}>
              {operations.map(({ id, path }) => (
                <option key={id} value={id}>
                  {path}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <nav aria-label="Routes" className="reference-nav">
        {interfaces.map((one) => (
          <section key={one.title}>
            <h2>
              {one.title.replace('Corkboard, ', '').replace(/^./, (first) => first.toLocaleUpperCase())}{' '}
              <span>{one.version}</span>
            </h2>
            <ul>
              {one.operations.map((route) => (
                <RouteItem
                  key={route.id}
                  route={route}
                  isCurrent={route === operation}
                  onChoose={() => change({ op: route.id })}
                />
              ))}
            </ul>
          </section>
        ))}
      </nav>
      {operation !== undefined && <OperationView key={operation.id} operation={operation} />}
    </div>
  );
}

function RouteItem({
  route,
  isCurrent,
  onChoose,
}: {
  readonly route: Operation;
  readonly isCurrent: boolean;
  readonly onChoose: () => void;
}) {
  return (
    <li>
      <button
        type="button"
        aria-current={isCurrent ? 'true' : undefined}
        title={route.summary}
        onClick={onChoose}
      >
        <code>{route.path.replace(/^\/(a|b|insights)\b(\/v1)?/, '')}</code>
      </button>
    </li>
  );
}
