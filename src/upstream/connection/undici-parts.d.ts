// undici exports the types of its parts at its root only.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  // biome-ignore lint/style/noDefaultExport: it is theirs
  export default Pool;
}
declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  // biome-ignore lint/style/noDefaultExport: it is theirs
  export default Client;
}
