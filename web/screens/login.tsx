// Asks once for a token of the admin API: from then on a cookie that no script can read identifies the session.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AdminSession } from "../../src/admin/schemas.ts";
import { Field } from "../components/field.tsx";
import { problemOf, useApp } from "../lib/app.ts";

export const Login = () => (
  <main class="login">
    <LoginForm title="Headgate" />
  </main>
);

/** A login over the hidden screen, which keeps its filled-in fields. Only a login closes it. */
export function LoginAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () =>
      requestAnimationFrame(() => {
        if (opener instanceof HTMLElement) opener.focus();
      });
  }, []);
  return (
    <dialog
      ref={dialog}
      class="login"
      aria-label="Log in again"
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
    >
      <LoginForm title="Log in again" about="The session has ended. Your input is still there." />
    </dialog>
  );
}

function LoginForm({ title, about }: { readonly title: string; readonly about?: string }) {
  const { api, session, platform } = useApp();
  const [token, setToken] = useState("");
  const [mistake, setMistake] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const logIn = async (): Promise<void> => {
    setBusy(true);
    try {
      const body = { token: token.trim() };
      const { operator } = await api.ask<AdminSession>("POST", "session", { body });
      session.set(operator ? { operator } : {});
      platform.tellTabs("logged in");
    } catch (error) {
      const { status, message } = problemOf(error);
      setMistake(status === 401 ? "The gateway does not know this token." : message);
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void logIn();
      }}
    >
      <h1>
        <span class="mark" aria-hidden="true" />
        {title}
      </h1>
      {about && <p>{about}</p>}
      <Field
        label="Token"
        type="password"
        value={token}
        onInput={setToken}
        note="admin.token of the configuration, or one of admin.tokens"
        mistake={mistake}
        isRequired
        autocomplete="current-password"
      />
      <button type="submit" class="primary" aria-disabled={isBusy}>
        {isBusy ? "Logging in …" : "Log in"}
      </button>
    </form>
  );
}
