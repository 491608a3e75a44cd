// A form's field: its label, a note about the expected value, and the mistake in the present value.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

type FieldProps = {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: "text" | "password" | "number" | "date" | "search";
  /** The expected value, with its unit. */
  readonly note?: string;
  readonly mistake?: string | undefined;
  readonly isRequired?: boolean;
  readonly autocomplete?: string;
  readonly placeholder?: string;
};

export function Field(props: FieldProps) {
  const { label, value, onInput, type = "text", note, mistake, isRequired = false } = props;
  const id = useId();
  const about = [note && `${id}-note`, mistake && `${id}-mistake`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...({ type } as { type: "text" })} // one element for all input types, which JSX distinguishes
        value={value}
        required={isRequired}
        autocomplete={props.autocomplete ?? "off"}
        placeholder={props.placeholder}
        spellcheck={false}
        aria-invalid={mistake !== undefined}
        aria-describedby={about || undefined}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {note && (
        <p id={`${id}-note`} class="note">
          {note}
        </p>
      )}
      {mistake && (
        <p id={`${id}-mistake`} class="mistake">
          {mistake}
        </p>
      )}
    </div>
  );
}

type SelectProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly value: string; readonly text: string }[];
};

export function Select({ label, value, onChange, options }: SelectProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** The mistakes of the form as a whole, one line each. */
export const Mistakes = ({ lines }: { lines: readonly ComponentChildren[] }) =>
  lines.length === 0 ? null : (
    <ul class="mistakes" role="alert">
      {lines.map((line) => (
        <li key={String(line)}>{line}</li>
      ))}
    </ul>
  );
