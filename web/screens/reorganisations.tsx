// The last reorgs: the fork point, and the blocks that were removed and added.
import { useApp } from "../lib/app.ts";
import { hashText, timeText, wholeText } from "../lib/format.ts";
import type { LiveNetwork } from "./overview-figures.ts";

type Reorganisation = LiveNetwork["lastReorganisations"][number];
type BlockName = Reorganisation["fork"];

export const Reorganisations = ({ network }: { network: LiveNetwork }) =>
  network.lastReorganisations.length === 0 ? null : (
    <details class="reorganisations">
      <summary>The last reorganisations</summary>
      <ol>
        {network.lastReorganisations.map((each) => (
          <li key={`${each.at} ${each.fork.hash}`}>
            <Tree {...each} />
          </li>
        ))}
      </ol>
    </details>
  );

function Tree({ at, fork, removed, added, removedCount, addedCount }: Reorganisation) {
  const { platform } = useApp();
  return (
    <div class="tree">
      <p class="quiet">
        <time dateTime={at}>{timeText(at, platform.now())}</time>: {wholeText(removedCount)}{" "}
        {removedCount === 1 ? "block" : "blocks"} replaced by {wholeText(addedCount)}
      </p>
      <div class="branches">
        <Block {...fork} what="fork" />
        <ol class="branch removed" aria-label="Removed blocks">
          <Branch blocks={removed} count={removedCount} what="removed" />
        </ol>
        <ol class="branch added" aria-label="Added blocks">
          <Branch blocks={added} count={addedCount} what="added" />
        </ol>
      </div>
    </div>
  );
}

type BranchProps = {
  readonly blocks: readonly BlockName[];
  readonly count: number;
  readonly what: string;
};

const Branch = ({ blocks, count, what }: BranchProps) => (
  <>
    {blocks.map((block) => (
      <li key={block.hash}>
        <Block {...block} what={what} />
      </li>
    ))}
    {count > blocks.length && <li class="quiet">and {wholeText(count - blocks.length)} more</li>}
    {count === 0 && <li class="quiet">none yet</li>}
  </>
);

const Block = ({ number, hash, what }: BlockName & { readonly what: string }) => (
  <span class={`block ${what}`}>
    <b>{wholeText(number)}</b> <code>{hashText(hash)}</code>
    <span class="visually-hidden"> {what}</span>
  </span>
);
