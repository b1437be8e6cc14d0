/** Replacements for content: while it loads, after an error, and if it is empty. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ProblemError } from '../../../src/client/client.ts';
import { troubleOf } from '../api/client.ts';

/** A grey area with the height of the content: a number of pixels, or the height of `shape`. */
export function Skeleton({ height = 120, shape }: SkeletonSize) {
  return (
    <div className="skeleton" style={shape === undefined ? { height } : undefined} role="status">
      <span className="unseen">Loading…</span>
      {shape !== undefined && <Unseen>{shape}</Unseen>}
    </div>
  );
}

/** Takes up space, but is invisible and hidden from screen readers. */
function Unseen({ children }: { readonly children: ReactNode }) {
  return (
    <div className="loaded skeleton-shape" aria-hidden="true" inert>
      {children}
    </div>
  );
}

interface SkeletonSize {
  readonly height?: number | undefined;
  /** The invisible layout with placeholder data, so that nothing moves when the data arrives. */
  readonly shape?: ReactNode;
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="state">
      <svg viewBox="0 0 48 48" aria-hidden="true" className="state-picture">
        <rect x="7" y="9" width="34" height="30" rx="5" />
        <path d="M15 31v-4M24 31v-9M33 31v-6" />
      </svg>
      <p className="state-title">{title}</p>
      {children !== undefined && <div className="state-text">{children}</div>}
    </div>
  );
}

/** Shows an error, with the id under which the operator finds the request in the log. */
export function Failure({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  const problem = error instanceof ProblemError ? error : undefined;
  if (problem?.status === 404) return <NotVisible />;
  const { title, detail } = troubleOf(error);
  return (
    <div className="state state-failed" role="alert">
      <p className="state-title">{title}</p>
      <div className="state-text">
        <p>{detail}</p>
        {problem?.retryAfterMs !== undefined && (
          <p>Try again in {Math.ceil(problem.retryAfterMs / 1000)} s.</p>
        )}
        {problem?.requestId !== undefined && (
          <p className="state-id">
            Request ID <code>{problem.requestId}</code>
          </p>
        )}
      </div>
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The server does not distinguish data outside the scope from missing data; nor does this text. */
function NotVisible() {
  return (
    <div className="state" role="alert">
      <svg viewBox="0 0 48 48" aria-hidden="true" className="state-picture">
        <rect x="12" y="21" width="24" height="18" rx="4" />
        <path d="M17 21v-5a7 7 0 0 1 14 0v5" />
      </svg>
      <p className="state-title">Not found</p>
      <p className="state-text">It does not exist, or your API key has no access to it.</p>
    </div>
  );
}

export function Loaded<T>({
  answer,
  height,
  shape,
  isEmpty,
  empty = 'No data in this range',
  children,
}: SkeletonSize & {
  readonly answer: UseQueryResult<T>;
  readonly isEmpty?: (data: T) => boolean;
  readonly empty?: string;
  readonly children: (data: T) => ReactNode;
}) {
  const { data, error, isPending, isPlaceholderData, refetch } = answer;
  if (isPending) return <Skeleton height={height} shape={shape} />;
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  if (isEmpty?.(data)) {
    return (
      <div className="layers">
        {shape !== undefined && <Unseen>{shape}</Unseen>}
        <Empty title={empty} />
      </div>
    );
  }
  return (
    <div className={isPlaceholderData ? 'loaded is-stale' : 'loaded'} aria-busy={isPlaceholderData}>
      {children(data)}
    </div>
  );
}
