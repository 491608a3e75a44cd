// What is shown while there is nothing to show: loading, empty, failed; and that what is shown is old.
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

/** @param onRetry Left out: it cannot be tried again. */
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

/** What is shown was told so long ago. @param seconds undefined: nothing was told yet. */
export const Stale = ({ seconds }: { seconds: number | undefined }) => (
  <div class="stale" role="status">
    {seconds === undefined
      ? "The gateway opens no stream of events: it has just begun or ends, or too many pages are open, 50 of one token. It is asked again."
      : `The gateway has told nothing for ${secondsText(seconds)}. What is shown is what it told last.`}
  </div>
);

type LoadedProps<Value> = {
  readonly resource: Resource<Value>;
  /** What it is, as in "Loading keys …". */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
};

/** A resource in whichever state it is; what was loaded before stays beside the problem. */
export const Loaded = <Value,>({ resource, what, children }: LoadedProps<Value>) => {
  const { value, problem, reload } = resource;
  return (
    <>
      {problem && <Problem problem={problem} onRetry={reload} />}
      {value === undefined ? !problem && <Loading what={what} /> : children(value)}
    </>
  );
};
