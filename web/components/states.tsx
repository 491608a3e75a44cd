// Placeholders while there is nothing to show: loading, empty, failed; and the notice that the figures are old.
import type { ComponentChildren } from "preact";
import type { ApiProblem } from "../lib/api.ts";
import type { Resource } from "../lib/app.ts";
import { secondsText } from "../lib/format.ts";

export const Loading = ({ what }: { what: string }) => (
  <div class="state" role="status">
    <span class="spinner" aria-hidden="true" />
    Loading {what} …
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="state">
    <strong>{title}</strong>
    {children && <div>{children}</div>}
  </div>
);

/** @param onRetry Left out: the operator cannot retry. */
export const Problem = ({ problem, onRetry }: { problem: ApiProblem; onRetry?: () => void }) => (
  <div class="problem" role="alert">
    <p>{problem.message}</p>
    {problem.mistakes.length > 0 && (
      <ul>
        {problem.mistakes.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    )}
    {onRetry && (
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    )}
  </div>
);

/** Notice that the event stream stopped. @param seconds Age of the last event; undefined: no event came yet. */
export const Stale = ({ seconds }: { seconds: number | undefined }) => (
  <div class="stale" role="status">
    {seconds === undefined
      ? "The gateway does not open an event stream: it is starting or stopping, or 50 pages of this token are open already. The page tries again."
      : `The gateway has sent nothing for ${secondsText(seconds)}. The figures are the last that it sent.`}
  </div>
);

type LoadedProps<Value> = {
  readonly resource: Resource<Value>;
  /** The name of the resource, as in "Loading keys …". */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
};

/** Shows a resource in its state; a value that was loaded before stays beside a newer problem. */
export const Loaded = <Value,>({ resource, what, children }: LoadedProps<Value>) => {
  const { value, problem, reload } = resource;
  return (
    <>
      {problem && <Problem problem={problem} onRetry={reload} />}
      {value === undefined ? !problem && <Loading what={what} /> : children(value)}
    </>
  );
};
