// The vocabulary of forms: how a chain writes headers, transactions and receipts as RLP.

/** How the value of a JSON member is written. */
export type FieldKind =
  /** DATA of this many bytes. */
  | number
  | "quantity"
  /** As `quantity`; an absent one is written as zero. */
  | "count"
  | "data"
  /** DATA with or without the prefix 0x. */
  | "bare data"
  /** An integer in hex or decimal digits, or as a JSON number. */
  | "step"
  /** DATA, or nothing where it is absent. */
  | "bytes or nothing"
  /** A boolean; an absent one is false. */
  | "flag"
  /** Not written: some nodes tell zeros for a field that the chain does not have. */
  | "zeros or nothing"
  /** A value that does not depend on the JSON. */
  | "true"
  | "zero hash"
  | "access list"
  /** A list of DATA, each of which is already RLP. */
  | "items"
  /** A time in seconds that the chain hashes in milliseconds, which the JSON does not tell. */
  | "seconds"
  /** The object's own fields as one inner list. */
  | { readonly list: HeaderForm }
  /** A list of the members of another object, or of each object of a list. */
  | { readonly object: readonly Field[] }
  | { readonly each: readonly Field[] | FieldKind };

/** The name of a JSON member, with other names of it after `|`, and how its value is written. */
export type Field = readonly [name: string, kind: FieldKind];

export type HeaderForm = {
  readonly name: string;
  readonly fields: readonly Field[];
  /** Fields that forks appended, in their order: each is written where the header has it. */
  readonly later?: readonly Field[];
  /** Whether unknown members may follow, as a fork to come may append them. */
  readonly isOpen?: true;
};

export type TransactionForm = {
  readonly fields: readonly Field[];
  /** False: the type is in no byte before the list, as in legacy transactions. */
  readonly hasTypeByte?: boolean;
};
