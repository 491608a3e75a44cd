// Short notices of finished actions. They disappear by themselves, and screen readers announce them.
import { useApp } from "../lib/app.ts";
import { useStore } from "../lib/store.ts";

export function Notices() {
  const notices = useStore(useApp().notices);
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.map((notice, at) => (
        <p key={at} class={`notice tone-${notice.tone}`}>
          {notice.text}
        </p>
      ))}
    </div>
  );
}
