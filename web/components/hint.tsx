// Explains a figure where it stands: on hover, on keyboard focus, on touch, and to screen readers.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A term with a hint that explains it. */
export const Term = ({ hint, children }: { hint: string; children: ComponentChildren }) => (
  <button type="button" class="term" data-hint={hint} aria-description={hint}>
    {children}
  </button>
);

type Shown = { readonly text: string; readonly target: Element };

/** Shows the hint of the hovered or focused element; the page has one HintLayer. */
export function HintLayer() {
  const [shown, show] = useState<Shown>();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const look = ({ target }: Event): void => {
      const found = target instanceof Element ? target.closest("[data-hint]") : null;
      show(found ? { text: found.getAttribute("data-hint") ?? "", target: found } : undefined);
    };
    const hide = (event: Event): void => {
      if (!(event instanceof KeyboardEvent) || event.key === "Escape") show(undefined);
    };
    const looks = ["mouseover", "focusin", "click"];
    for (const name of looks) document.addEventListener(name, look);
    document.addEventListener("keydown", hide);
    document.addEventListener("scroll", hide, true);
    return () => {
      for (const name of looks) document.removeEventListener(name, look);
      document.removeEventListener("keydown", hide);
      document.removeEventListener("scroll", hide, true);
    };
  }, []);
  useEffect(() => place(box.current, shown?.target), [shown]);
  return (
    <div ref={box} class="hint" role="tooltip" hidden={!shown}>
      {shown?.text}
    </div>
  );
}

/** Places the hint below its term, or above where there is no room; never beyond the window's edges. */
function place(box: HTMLDivElement | null, target: Element | undefined): void {
  if (!box || !target) return;
  const { left, top, bottom } = target.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const below = bottom + 6;
  const y = below + height > innerHeight - 8 ? top - height - 6 : below;
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, y)}px`;
}
