// A longer preformatted text, which the keyboard can focus and scroll.

/** @param name The name of the text, for screen readers. */
export const Text = ({ name, children }: { name: string; children: string }) => (
  <section class="text" aria-label={name}>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
    <pre tabIndex={0}>{children}</pre>
  </section>
);
