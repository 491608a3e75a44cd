// Actions on keys: forms create and change keys, dialogs confirm other actions; a new key's text appears once.
import { useState } from "preact/hooks";
import type { KeyAnswer, MadeKeyAnswer } from "../../src/admin/schemas.ts";
import { ConfirmDialog, Dialog } from "../components/dialog.tsx";
import { Field, Select } from "../components/field.tsx";
import { MemberFields } from "../components/schema-form.tsx";
import { Loaded, Problem } from "../components/states.tsx";
import type { ApiProblem } from "../lib/api.ts";
import { problemOf, useApp, useResource } from "../lib/app.ts";
import { notStoredWarning } from "../lib/format.ts";
import { draftOf, mergePatchOf, readDraft, type Schema } from "../lib/schema.ts";

type Document = { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } };

type KeyFormProps = {
  /** The verb on the button. */
  readonly act: string;
  /** The key to change; left out: the form creates a key. */
  readonly of?: KeyAnswer;
  readonly onDone: (key: KeyAnswer | MadeKeyAnswer) => void;
  readonly onClose: () => void;
};

/** A form whose fields come from the schema by which the gateway reads keys. */
export function KeyForm(props: KeyFormProps) {
  const document = useResource<Document>("openapi.json");
  return (
    <Loaded resource={document} what="the form">
      {({ components }) => {
        const schema = components.schemas["KeyRequest"];
        return schema && <Fields {...props} schema={schema} />;
      }}
    </Loaded>
  );
}

/** The common fields; the form folds the others away. */
const FIRST = ["name", "networks", "methods", "origins", "readOnly", "rate", "computeUnits"];

function Fields({ act, of, onDone, onClose, schema }: KeyFormProps & { readonly schema: Schema }) {
  const { api, notify } = useApp();
  const [draft, setDraft] = useState(() => draftOf(of?.settings, schema, {}));
  const [mistakes, setMistakes] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    const read = readDraft(draft, schema, {});
    setMistakes(read.mistakes);
    setProblem(undefined);
    if (Object.keys(read.mistakes).length > 0) return;
    setBusy(true);
    try {
      const value = read.value ?? {};
      const done = of
        ? await api.ask<KeyAnswer>("PATCH", `keys/${encodeURIComponent(of.name)}`, {
            body: mergePatchOf(of.settings, value),
          })
        : await api.ask<MadeKeyAnswer>("POST", "keys", { body: value });
      notify(of ? `The key ${done.name} was changed` : `The key ${done.name} was made`);
      onDone(done);
    } catch (error) {
      setBusy(false);
      setProblem(problemOf(error));
    }
  };
  const isShown = (name: string): boolean => !of || (name !== "name" && name !== "profile");
  const form = { schema, draft, mistakes, onDraft: setDraft };
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void send();
      }}
    >
      <div class="columns">
        <MemberFields {...form} only={(name) => isShown(name) && FIRST.includes(name)} />
      </div>
      <details>
        <summary>More settings</summary>
        <div class="columns">
          <MemberFields {...form} only={(name) => isShown(name) && !FIRST.includes(name)} />
        </div>
      </details>
      {problem && <Problem problem={problem} />}
      <div class="acts">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="primary" aria-disabled={isBusy}>
          {act}
        </button>
      </div>
    </form>
  );
}

/** Shows the text of a created key: the gateway tells it only once. */
export function NewText({ made, onClose }: { made: MadeKeyAnswer; onClose: () => void }) {
  const { notify } = useApp();
  const copy = (): void => {
    const copied = navigator.clipboard?.writeText(made.key) ?? Promise.reject(new Error());
    copied.then(
      () => notify("Copied"),
      () => notify("The browser does not allow copying here: select the text instead", "bad"),
    );
  };
  return (
    <Dialog title={`The text of ${made.name}`} onClose={onClose}>
      <div class="asked">
        <p>
          This text is shown only once, and the gateway does not keep it: save it for the key's
          user.
        </p>
        <div class="secret">
          <input
            readOnly
            aria-label="The key's text"
            value={made.key}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
          <button type="button" onClick={copy}>
            Copy
          </button>
        </div>
      </div>
      <div class="acts">
        <button type="button" class="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}

export type KeyAct = "rotate" | "disable" | "enable" | "revoke";

type KeyDialogProps = {
  readonly act: KeyAct;
  readonly name: string;
  readonly onMade: (key: MadeKeyAnswer) => void;
  readonly onDone: () => void;
  readonly onClose: () => void;
};

/** Confirms an action on a key. */
export function KeyDialog(props: KeyDialogProps) {
  const { act, name, onDone, onClose } = props;
  const { api, notify } = useApp();
  const path = `keys/${encodeURIComponent(name)}/${act}`;
  if (act === "rotate") return <Rotate {...props} path={path} />;
  if (act === "revoke") return <Revoke {...props} path={path} />;
  const perform = async (): Promise<void> => {
    const key = await api.ask<KeyAnswer>("POST", path);
    notify(`The key ${name} was ${act}d${notStoredWarning(key)}`);
    onDone();
  };
  return (
    <ConfirmDialog
      title={act === "disable" ? `Disable ${name}?` : `Enable ${name}?`}
      act={act === "disable" ? "Disable" : "Enable"}
      onAct={perform}
      onClose={onClose}
    >
      <p>
        {act === "disable"
          ? "The key's callers are refused within a second, until the key is enabled again."
          : "The key's callers are let in again within a second."}
      </p>
    </ConfirmDialog>
  );
}

type PathProps = KeyDialogProps & { readonly path: string };

const OVERLAPS = [
  { value: "24h", text: "for a day" },
  { value: "1h", text: "for an hour" },
  { value: "168h", text: "for a week" },
  { value: "0s", text: "not at all" },
];

function Rotate({ name, path, onMade, onDone, onClose }: PathProps) {
  const { api } = useApp();
  const [overlap, setOverlap] = useState("24h");
  const perform = async (): Promise<void> => {
    const made = await api.ask<MadeKeyAnswer>("POST", path, { body: { overlap } });
    onDone();
    onMade(made);
  };
  return (
    <ConfirmDialog
      title={`A new text for ${name}?`}
      act="Make the new text"
      onAct={perform}
      onClose={onClose}
    >
      <Select
        label="The old text keeps working"
        value={overlap}
        onChange={setOverlap}
        options={OVERLAPS}
      />
    </ConfirmDialog>
  );
}

function Revoke({ name, path, onDone, onClose }: PathProps) {
  const { api, notify } = useApp();
  const [typed, type] = useState("");
  const perform = async (): Promise<void> => {
    const key = await api.ask<KeyAnswer>("POST", path);
    notify(`The key ${name} was revoked${notStoredWarning(key)}`);
    onDone();
  };
  return (
    <ConfirmDialog
      title={`Revoke ${name}?`}
      act="Revoke"
      isDangerous
      isReady={typed === name}
      onAct={perform}
      onClose={onClose}
    >
      <p>
        The key ends for good, at every gateway, within a second. Its callers are refused, and no
        other key can have its name.
      </p>
      <Field label={`Type ${name} to confirm`} value={typed} onInput={type} isRequired />
    </ConfirmDialog>
  );
}
