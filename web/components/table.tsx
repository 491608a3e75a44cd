// A table that becomes a list of cards in a narrow window. It names its roles, since that layout removes them.
import type { ComponentChildren } from "preact";
import { Term } from "./hint.tsx";

export type Column<Row> = {
  readonly title: string;
  /** The meaning of the column's numbers, and their unit. */
  readonly hint?: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Aligns the column to the right. */
  readonly isNumber?: boolean;
};

type TableProps<Row> = {
  /** The title of the table, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly toneOf?: (row: Row) => "plain" | "warn" | "bad";
};

/* The roles are those of the elements: browsers drop them where CSS sets another `display`. */
/* biome-ignore-start lint/a11y/noRedundantRoles: see above */
export const Table = <Row,>({ caption, columns, rows, keyOf, toneOf }: TableProps<Row>) => (
  <table role="table" aria-label={caption}>
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(({ title, hint, isNumber }) => (
          <th key={title} scope="col" role="columnheader" class={isNumber ? "number" : undefined}>
            {hint ? <Term hint={hint}>{title}</Term> : title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody role="rowgroup">
      {rows.map((row) => (
        <tr key={keyOf(row)} role="row" class={`tone-${toneOf?.(row) ?? "plain"}`}>
          {columns.map(({ title, cell, isNumber }) => (
            <td key={title} role="cell" data-title={title} class={isNumber ? "number" : undefined}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
/* biome-ignore-end lint/a11y/noRedundantRoles: see above */
