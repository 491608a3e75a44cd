// The operations of operations.ts in Lua: Redis runs a script in one step, so that no other client sees half of it. A
// group has two keys: a hash of its texts by name, and a sorted set of the names, all with score 0, which Redis orders
// by bytes. A third key remembers the last operation of one slot.
import { SET_BACK_MS } from "../lib/token-bucket.ts";
import { MOST_ITEMS, SUPERSEDED_OPERATION } from "./state.ts";

/** The most entries of one page of a list, and the bytes after which a page ends: other clients wait for each page. */
const PAGE_ENTRIES = 500;
const PAGE_BYTES = 1_048_576;

/** The braces are a hash tag: a cluster keeps all keys of a group on one node. */
export const groupKeys = (prefix: string, group: string): [texts: string, names: string] => [
  `{${prefix}:${group}}:texts`,
  `{${prefix}:${group}}:names`,
];

export const doneKey = (prefix: string, group: string, slot: string): string =>
  `{${prefix}:${group}}:done:${slot}`;

const table = `
local function get(name) return redis.call('HGET', KEYS[1], name) end
local function set(name, text)
  if text then
    redis.call('HSET', KEYS[1], name, text)
    redis.call('ZADD', KEYS[2], 0, name)
  else
    redis.call('HDEL', KEYS[1], name)
    redis.call('ZREM', KEYS[2], name)
  end
end
`;

/** The first two arguments: the operation's number in its slot, or an empty text; the milliseconds to remember it. */
const once = `
local function once(act)
  if ARGV[1] == '' then return act() end
  local number = tonumber(ARGV[1])
  local last, told = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+) (.*)$')
  if last and tonumber(last) > number then return redis.error_reply('ERR ${SUPERSEDED_OPERATION}') end
  if last and tonumber(last) == number then return told end
  local answer = act()
  if answer then redis.call('SET', KEYS[3], ARGV[1] .. ' ' .. answer, 'PX', ARGV[2]) end
  return answer
end
`;

/**
 * Five more arguments for each text: its name; "1" if a text is expected, and this text; "1" if a text replaces it, and
 * that text. A missing text is `false` in Lua on both sides of the comparison. The script returns 1 after a change, and
 * otherwise the present texts, after 1 if the operation had happened before, or 0 if another text was there.
 */
const update = `${table}${once}
local wasAsked = false
local answer = once(function()
  wasAsked = true
  for i = 3, #ARGV, 5 do
    local expected = ARGV[i + 1] == '1' and ARGV[i + 2]
    if get(ARGV[i]) ~= expected then return false end
  end
  for i = 3, #ARGV, 5 do set(ARGV[i], ARGV[i + 3] == '1' and ARGV[i + 4]) end
  return ''
end)
if type(answer) == 'table' then return answer end
if wasAsked and answer then return 1 end
local texts = { answer and 1 or 0 }
for i = 3, #ARGV, 5 do texts[#texts + 1] = get(ARGV[i]) end
return texts`;

/** More arguments: the name, and the numbers of a TakeRequest. Returns the granted units and the remaining units. */
const take = `${table}${once}
return once(function()
  local name = ARGV[3]
  local size, perSecond, returned, owed = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
  local least, wanted, share = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local units, at = string.match(get(name) or '', '^(%S+) (%S+)')
  units, at = tonumber(units), tonumber(at)
  if not (units and at) then units, at = 0, 0 end
  if at > now and at - now < ${SET_BACK_MS} then now = at end
  if perSecond > 0 then
    units = math.min(size, math.max(0, units - math.max(0, now - at) / 1000 * perSecond))
  end
  units = math.max(0, units - returned)
  local booked = owed
  if perSecond > 0 then booked = math.min(owed, math.max(0, size - units)) end
  local left, granted = size - units - booked, 0
  if left > 0 and left >= least then
    granted = math.max(least, math.min(wanted, math.floor(left * share)))
  end
  units = units + booked + granted
  set(name, string.format('%.17g %.17g', units, now))
  return string.format('%.17g %.17g', granted, size - units)
end)`;

/** More arguments: names and their counts as JSON, alternating. */
const add = `${table}${once}
local function addTo(sum, more)
  for name, rows in pairs(more) do
    sum[name] = sum[name] or {}
    for row, numbers in pairs(rows) do
      local before = sum[name][row] or {}
      for i, number in ipairs(numbers) do before[i] = (before[i] or 0) + number end
      sum[name][row] = before
    end
  end
end
-- cjson would write no more than 14 digits.
local function textOf(sum)
  local names = {}
  for name, rows in pairs(sum) do
    local texts = {}
    for row, numbers in pairs(rows) do
      for i, number in ipairs(numbers) do numbers[i] = string.format('%.17g', number) end
      texts[#texts + 1] = cjson.encode(row) .. ':[' .. table.concat(numbers, ',') .. ']'
    end
    names[#names + 1] = cjson.encode(name) .. ':{' .. table.concat(texts, ',') .. '}'
  end
  return '{' .. table.concat(names, ',') .. '}'
end
return once(function()
  local sums = {}
  for i = 3, #ARGV, 2 do
    local sum = cjson.decode(get(ARGV[i]) or '{}')
    addTo(sum, cjson.decode(ARGV[i + 1]))
    sums[i] = textOf(sum)
  end
  for i = 3, #ARGV, 2 do set(ARGV[i], sums[i]) end
  return ''
end)`;

/**
 * The arguments: "read" or "append"; the names of the first number and of the end; the prefix of the items' names; the
 * caller's position; the number of items to keep; the least end of the journal; the items. Returns a JournalPart.
 */
const journal = `${table}
local isRead, prefix, at = ARGV[1] == 'read', ARGV[4], tonumber(ARGV[5])
local kept, least = tonumber(ARGV[6]), tonumber(ARGV[7])
local function nameOf(number) return prefix .. string.format('%012x', number) end
local first = tonumber(get(ARGV[2]) or '0', 16)
local last = math.max(first, tonumber(get(ARGV[3]) or '0', 16))
local function forgetBefore(number)
  while first < number do
    set(nameOf(first), false)
    first = first + 1
  end
end
if not isRead then
  if last < least then
    forgetBefore(last)
    first, last = least, least
  end
  if last == at then
    for i = 8, #ARGV do
      set(nameOf(last), ARGV[i])
      last = last + 1
    end
  end
  if last - first > kept + kept / 8 then forgetBefore(last - kept) end
  set(ARGV[2], string.format('%x', first))
  set(ARGV[3], string.format('%x', last))
end
local from = math.min(last, math.max(first, at))
local answer = { first, last, from }
for number = from, math.min(last, from + ${MOST_ITEMS}) - 1 do answer[#answer + 1] = get(nameOf(number)) end
return answer`;

/** The arguments: the bounds of the names. Returns '1' when more entries may follow, then alternating names and texts. */
const page = `
local names = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ${PAGE_ENTRIES})
local answer = { #names == ${PAGE_ENTRIES} and '1' or '0' }
local bytes = 0
for i, name in ipairs(names) do
  local text = redis.call('HGET', KEYS[1], name)
  if text then
    answer[#answer + 1] = name
    answer[#answer + 1] = text
    bytes = bytes + #text
  end
  if bytes > ${PAGE_BYTES} and i < #names then
    answer[1] = '1'
    break
  end
end
return answer`;

export const scripts = {
  updateGroup: { lua: update, numberOfKeys: 3 },
  takeUnits: { lua: take, numberOfKeys: 3 },
  addCounts: { lua: add, numberOfKeys: 3 },
  appendItems: { lua: journal, numberOfKeys: 2 },
  pageOfGroup: { lua: page, numberOfKeys: 2 },
};

type OnceKeys = readonly [texts: string, names: string, done: string];

/** The scripts, as methods of an ioredis client that has defined them. */
export type Scripts = {
  updateGroup(
    ...words: readonly [...OnceKeys, ...string[]]
  ): Promise<1 | readonly [0 | 1, ...(string | null)[]]>;
  takeUnits(...words: readonly [...OnceKeys, ...string[]]): Promise<string>;
  addCounts(...words: readonly [...OnceKeys, ...string[]]): Promise<string>;
  appendItems(...words: readonly string[]): Promise<readonly [number, number, number, ...string[]]>;
  pageOfGroup(texts: string, names: string, from: string, to: Buffer): Promise<readonly string[]>;
};
