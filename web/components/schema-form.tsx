// The fields of a form, made from a JSON Schema: a label, the expected value, and the mistake in the present one.
import { useId } from "preact/hooks";
import {
  type Components,
  type Draft,
  kindOf,
  pathOf,
  type Resolved,
  resolved,
  type Schema,
} from "../lib/schema.ts";
import { Field, Select } from "./field.tsx";

type FormProps = {
  readonly schema: Schema;
  readonly components?: Components;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  readonly mistakes?: Readonly<Record<string, string>>;
};

type FieldProps = FormProps & {
  readonly path: string;
  readonly label: string;
  readonly isRequired: boolean;
};

/** The fields of an object's members, except the members that are left out. */
export const MemberFields = ({
  path = "",
  only = () => true,
  ...form
}: FormProps & { readonly path?: string; readonly only?: (name: string) => boolean }) => {
  const { properties = {}, required = [] } = resolved(form.schema, form.components ?? {});
  return (
    <>
      {Object.entries(properties)
        .filter(([name]) => only(name))
        .map(([name, schema]) => (
          <SchemaField
            key={name}
            {...form}
            schema={schema}
            path={pathOf(path, name)}
            label={name}
            isRequired={required.includes(name)}
          />
        ))}
    </>
  );
};

export function SchemaField(props: FieldProps) {
  const { path, label, draft, onDraft, components = {}, isRequired } = props;
  const whole = resolved(props.schema, components);
  const kind = kindOf(whole, components);
  const value = draft[path] ?? "";
  const set = (text: string): void => onDraft({ ...draft, [path]: text });
  if (kind === "group")
    return (
      <fieldset>
        <legend>{label}</legend>
        {whole.description && <p class="note">{whole.description}</p>}
        <MemberFields {...props} path={path} />
      </fieldset>
    );
  if (kind === "switch")
    return (
      <Switch {...{ label, whole }} isOn={value === "true"} onChange={(on) => set(String(on))} />
    );
  if (kind === "choice") {
    const texts = (whole.enum ?? []).map(String);
    const options = [...(isRequired ? [] : [""]), ...texts].map((text) => ({ value: text, text }));
    return <Select {...{ label, value, options }} onChange={set} />;
  }
  const mistake = props.mistakes?.[path];
  return (
    <Field
      {...{ label, value, isRequired }}
      {...(mistake !== undefined && { mistake })}
      onInput={set}
      note={noteOf(whole, kind)}
    />
  );
}

const noteOf = ({ description = "" }: Resolved, kind: string): string =>
  [
    description,
    kind === "list" ? "Separate several values with commas." : kind === "json" ? "JSON." : "",
  ]
    .filter(Boolean)
    .join(" ");

function Switch({
  label,
  whole,
  isOn,
  onChange,
}: {
  readonly label: string;
  readonly whole: Resolved;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label class="switch">
        <input
          type="checkbox"
          checked={isOn}
          aria-describedby={id}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
        {label}
      </label>
      <p id={id} class="note">
        {whole.description}
      </p>
    </div>
  );
}
