// The configuration file without its secrets: to read, check and replace; and the last reloads.
import { useState } from "preact/hooks";
import type {
  CheckedAnswer,
  ConfigurationAnswer,
  ReplacedAnswer,
} from "../../src/admin/schemas.ts";
import { ConfirmDialog } from "../components/dialog.tsx";
import { Mistakes } from "../components/field.tsx";
import { Badge, type Tone } from "../components/figure.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loaded, Problem } from "../components/states.tsx";
import { Text } from "../components/text.tsx";
import type { ApiProblem } from "../lib/api.ts";
import { problemOf, useApp, useMay, useResource } from "../lib/app.ts";
import { timeText } from "../lib/format.ts";

export function Configuration() {
  const configuration = useResource<ConfigurationAnswer>("configuration");
  return (
    <Screen title="Configuration" about="The gateway's configuration file, and its last reloads.">
      <Loaded resource={configuration} what="the configuration">
        {(told) => (
          <>
            <File key={told.version ?? ""} told={told} reload={configuration.reload} />
            <Reloads told={told} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}

type FileProps = { readonly told: ConfigurationAnswer; readonly reload: () => void };

function File({ told, reload }: FileProps) {
  const mayChange = useMay("all");
  const { path, text, whyNotWritable, pending } = told;
  if (path === undefined)
    return (
      <section class="card" aria-label="The file">
        <Empty title="There is no configuration file">
          The gateway was started without a file: from environment variables, from URLs, or over
          development nodes.
        </Empty>
      </section>
    );
  return (
    <section class="card" aria-label="The file">
      <header>
        <h2>{path}</h2>
        <InForce told={told} />
        <button type="button" class="small" onClick={reload}>
          Read again
        </button>
      </header>
      <Mistakes lines={pending.mistakes} />
      {pending.changed.length > 0 && (
        <>
          <p>The file has changes that are not in force:</p>
          <Lines lines={pending.changed} />
        </>
      )}
      {whyNotWritable && <p class="note">{whyNotWritable}</p>}
      {text === undefined ? (
        <Empty title="The file cannot be shown">
          It is not known what in it is a secret until it can be read.
        </Empty>
      ) : mayChange && !whyNotWritable ? (
        <Editor {...{ told, text, reload }} />
      ) : (
        <Text name="The file's text">{text}</Text>
      )}
    </section>
  );
}

function InForce({ told: { pending } }: { told: ConfigurationAnswer }) {
  const [tone, word]: [Tone, string] =
    pending.mistakes.length > 0
      ? ["bad", "Has mistakes"]
      : pending.changed.length > 0
        ? ["warn", "Not in force"]
        : ["good", "In force"];
  return <Badge tone={tone}>{word}</Badge>;
}

const Lines = ({ lines }: { lines: readonly string[] }) => (
  <ul class="lines">
    {lines.map((line, at) => (
      <li key={at}>
        <code>{line}</code>
      </li>
    ))}
  </ul>
);

function Editor({ told, text, reload }: FileProps & { readonly text: string }) {
  const { api, notify } = useApp();
  const [edited, edit] = useState(text);
  const [checked, setChecked] = useState<CheckedAnswer>();
  const [problem, setProblem] = useState<ApiProblem>();
  const [isAsking, ask] = useState(false);
  const change = (next: string): void => {
    edit(next);
    setChecked(undefined);
    setProblem(undefined);
  };
  const check = async (): Promise<CheckedAnswer | undefined> => {
    setProblem(undefined);
    try {
      const answer = await api.ask<CheckedAnswer>("POST", "configuration/validate", {
        body: { text: edited },
      });
      setChecked(answer);
      return answer;
    } catch (error) {
      setProblem(problemOf(error));
      return undefined;
    }
  };
  const apply = async (): Promise<void> => {
    const headers = { "if-match": `"${told.version ?? ""}"` };
    const { changed } = await api.ask<ReplacedAnswer>("POST", "configuration/apply", {
      body: { text: edited },
      headers,
    });
    notify(
      changed.length === 0
        ? "The file was written; no setting changed"
        : "The configuration is in force",
    );
    reload();
  };
  return (
    <div class="form">
      <label class="visually-hidden" for="file-text">
        The file's text
      </label>
      <textarea
        id="file-text"
        class="editor"
        spellcheck={false}
        aria-describedby="file-note"
        value={edited}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <p id="file-note" class="note">
        Comments and possible secrets are hidden: leave <code>‹hidden 1›</code> in its place to keep
        the text, or write a new one. Variables such as <code>$&#123;KEY&#125;</code> are shown as
        they are written.
      </p>
      <div class="acts">
        <button type="button" onClick={() => void check()}>
          Check
        </button>
        <button
          type="button"
          class="primary"
          aria-disabled={edited === text}
          onClick={() =>
            edited !== text &&
            void check().then((answer) => answer?.mistakes.length === 0 && ask(true))
          }
        >
          Apply …
        </button>
        {edited !== text && (
          <button type="button" class="quiet" onClick={() => change(text)}>
            Undo all
          </button>
        )}
      </div>
      <div role="status">
        {problem && <Problem problem={problem} />}
        {checked && <Mistakes lines={checked.mistakes} />}
        {checked?.mistakes.length === 0 && <Changes checked={checked} />}
      </div>
      {isAsking && checked && (
        <ConfirmDialog
          title="Apply this configuration?"
          act="Apply"
          onAct={apply}
          onClose={() => ask(false)}
        >
          <p>The gateway replaces the file and applies the new one at once.</p>
          <Changes checked={checked} />
        </ConfirmDialog>
      )}
    </div>
  );
}

const Changes = ({ checked: { changed } }: { checked: CheckedAnswer }) =>
  changed.length === 0 ? (
    <p>This text changes no setting.</p>
  ) : (
    <>
      <p>This text would change:</p>
      <Lines lines={changed} />
    </>
  );

const OUTCOMES: Readonly<
  Record<ConfigurationAnswer["reloads"][number]["outcome"], { tone: Tone; text: string }>
> = {
  reloaded: { tone: "good", text: "Reloaded" },
  mistakes: { tone: "bad", text: "Mistakes" },
  refused: { tone: "warn", text: "Refused" },
};

function Reloads({ told: { reloads } }: { told: ConfigurationAnswer }) {
  const { platform } = useApp();
  return (
    <section class="card" aria-label="The last reloads">
      <header>
        <h2>The last reloads</h2>
      </header>
      {reloads.length === 0 ? (
        <Empty title="No reloads since the gateway started" />
      ) : (
        <ul class="form">
          {reloads.map(({ at, who, from, outcome, lines }, index) => (
            <li key={`${at} ${index}`}>
              <p>
                <time dateTime={at}>{timeText(at, platform.now())}</time>{" "}
                <Badge tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].text}</Badge> by {who},{" "}
                <span class="quiet">{from}</span>
              </p>
              {lines.length === 0 ? <p class="note">Nothing changed.</p> : <Lines lines={lines} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
