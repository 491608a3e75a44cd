// What `headgate store` can do, for the help of the whole program: the stores are loaded only when opened.
export const STORE_HELP = `  headgate store show [--network NAME] [--json]
        tells what is stored: blocks, their proofs, and who told what is kept of old logs
  headgate store forget --network NAME (--upstream NAME | --blocks FROM-TO | --all)
        forgets what nodes told of logs of old blocks, also while a gateway runs`;
