// A modal dialog: the browser keeps the focus in it, closes it with Escape, and its opener gets the focus back.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ApiProblem } from "../lib/api.ts";
import { problemOf } from "../lib/app.ts";
import { Problem } from "./states.tsx";

type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
};

/** A dialog that is open while it is rendered. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

type ConfirmDialogProps = {
  readonly title: string;
  /** The text that says what the action will do. */
  readonly children: ComponentChildren;
  /** The verb on the button that acts. */
  readonly act: string;
  readonly isDangerous?: boolean;
  /** Whether the operator has filled in all fields of `children`; default true, for a dialog without fields. */
  readonly isReady?: boolean;
  /** Does the action. When it rejects, the dialog stays open and shows the reason. */
  readonly onAct: () => Promise<void>;
  readonly onClose: () => void;
};

/** A dialog that asks for confirmation before it acts. */
export function ConfirmDialog({
  title,
  children,
  act,
  onAct,
  onClose,
  ...props
}: ConfirmDialogProps) {
  const { isDangerous = false, isReady = true } = props;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem>();
  const perform = (): void => {
    setBusy(true);
    onAct().then(onClose, (error: unknown) => {
      setBusy(false);
      setProblem(problemOf(error));
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isBusy) perform();
        }}
      >
        <div class="asked">{children}</div>
        {problem && <Problem problem={problem} />}
        <div class="acts">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDangerous ? "danger" : "primary"}
            aria-disabled={isBusy || !isReady}
          >
            {act}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
