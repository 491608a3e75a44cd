import { ask, post } from "../support/ask.ts";
import { startExecutionChain } from "../support/execution-chain.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { inBlocks, startLyingNode, type Lie } from "./lying-node.ts";
const chain = await startExecutionChain();
const read = async (url: string, method: string, params: unknown[]) => { const r = await post(url, JSON.stringify({jsonrpc:"2.0",id:1,method,params})); const j:any = await r.json(); return `${r.headers.get("x-headgate-source")} ${r.headers.get("x-headgate-proof")} ${JSON.stringify(j.error ?? j.result?.hash ?? j.result).slice(0,90)}`; };
const hurry = (url: string) => post(url, JSON.stringify([{jsonrpc:"2.0",id:1,method:"eth_getBlockByNumber",params:["0x3e7",false]}])).then(r=>r.text());
const OTHER=`0x${"ab".repeat(32)}`;
const announced=(n:number):Lie=>(call,h:any)=>call.params[0]==="latest"?{...h,number:"0x"+n.toString(16),hash:OTHER}:h;
async function go(name: string, o: {lie: Lie, alone?: boolean, window?: number, chainId?: number, fromStart?: boolean, settings?: object}) {
  const chainId=o.chainId??1337;
  const liar=await startLyingNode({honestUrl:chain.url,chainId,head:47,...(o.fromStart?{lie:o.lie}:{})}); const honest=await startLyingNode({honestUrl:chain.url,chainId,head:47});
  const g=await startGatewayProcess({networks:{main:{family:"evm",chainId,window:{blocks:o.window??8},...o.settings,upstreams:[{name:"liar",url:liar.url},...(o.alone?[]:[{name:"honest",url:honest.url}])]}}});
  const url=g.endpoint("main");
  const show=async(l:string)=>{console.log(`  [${l}] head ${(await ask(url,"eth_blockNumber")).result} latest: ${await read(url,"eth_getBlockByNumber",["latest",false])} | 0x2e: ${await read(url,"eth_getBlockByNumber",["0x2e",false])} | logs: ${(await read(url,"eth_getLogs",[{fromBlock:"0x2c",toBlock:"0x2f"}])).slice(0,40)}`)};
  console.log(name);
  if(!o.fromStart) await until("f",async()=>g.log.some(l=>l.msg==="the window is filled")||((o.window??8)>8&&(await read(url,"eth_getBlockByNumber",["0x2f",false])).startsWith("store")));
  await show("before"); liar.lie=o.lie;
  const last=liar.answered+20; await until("asked",async()=>{await hurry(url);return liar.answered>=last});
  await show("lying"); liar.lie=undefined;
  for(let i=0;i<100;i++){await hurry(url);await new Promise(r=>setTimeout(r,120))}
  await show("honest for 12 s");
  console.log("  log:",g.log.filter(l=>Number(l.level)>=40).map(l=>l.msg+" "+(l["upstream"]??"")+" "+(l["part"]??"")).slice(0,8).join(" / "));
  await g.stop();await liar.close();await honest.close();
}
await Promise.all([
 go("A far head, 2 nodes, big window",{lie:announced(147),window:10000}),
 go("B far head alone, big window",{lie:announced(147),window:10000,alone:true}),
 go("C far head alone, window 8",{lie:announced(57),alone:true}),
 go("D far head two nodes, window 8",{lie:announced(57)}),
]);
await Promise.all([
 go("E other hashes alone",{alone:true,lie:inBlocks((b,{params})=>params[1]?b:{...b,hash:`0x${String(b["hash"]).slice(2,60)}facade`})(0)}),
 go("F seal field, unknown chain, 2 nodes",{chainId:424242,fromStart:true,lie:inBlocks(b=>({...b,stateRoot:OTHER,sealFields:["0x01"]}))(0)}),
 go("G seal field, known chain 1337, 2 nodes",{fromStart:true,lie:inBlocks(b=>({...b,stateRoot:OTHER,sealFields:["0x01"]}))(0)}),
 go("H plain wrong, unknown chain, alone from start",{chainId:424242,alone:true,fromStart:true,lie:inBlocks(b=>({...b,stateRoot:OTHER}))(0)}),
]);
await chain.close();
