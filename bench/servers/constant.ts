// Yardstick: the least that node:http does for an answer. It ignores the body of the request.
import { createServer } from "node:http";
import { listen } from "./listen.ts";

const hash = "0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad";
const answer = `{"jsonrpc":"2.0","id":1,"result":"${hash}"}`;
const headers = { "content-type": "application/json", "content-length": answer.length };

listen(createServer((_request, response) => response.writeHead(200, headers).end(answer)));
