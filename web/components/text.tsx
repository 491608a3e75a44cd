// A longer text as it is: the keyboard can go to it and scroll.

/** @param name What it is: for screen readers. */
export const Text = ({ name, children }: { name: string; children: string }) => (
  <section class="text" aria-label={name}>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
    <pre tabIndex={0}>{children}</pre>
  </section>
);
