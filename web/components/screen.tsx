// A screen's head. After a navigation its title takes the focus, so that the keyboard and screen readers begin there.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

type ScreenProps = {
  readonly title: string;
  /** One sentence about the content of the screen. */
  readonly about?: string;
  /** Buttons to the right of the title. */
  readonly acts?: ComponentChildren;
  readonly children: ComponentChildren;
};

export function Screen({ title, about, acts, children }: ScreenProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Headgate`;
    // On the first load the title does not take the focus, so that the first Tab goes to the first link.
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
