// A screen's head: its title takes the focus when it is gone to, so that the keyboard and screen readers begin there.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

type ScreenProps = {
  readonly title: string;
  /** One sentence: what is found here. */
  readonly about?: string;
  /** Buttons, at the right of the title. */
  readonly acts?: ComponentChildren;
  readonly children: ComponentChildren;
};

export function Screen({ title, about, acts, children }: ScreenProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Headgate`;
    // Not when the page was just opened: the first key goes to the first link then.
    if (document.activeElement !== document.body) heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <main id="screen">
      <header class="screen-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about && <p class="about">{about}</p>}
        </div>
        {acts && <div class="acts">{acts}</div>}
      </header>
      {children}
    </main>
  );
}
