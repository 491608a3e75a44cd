// What Redis does in one step, so that no other client sees half of it. A group has two keys: a hash
// of its texts by name, and a sorted set of the names, all of score 0, which Redis orders by bytes.

/** A page of a list holds so many entries at most, and ends after so many bytes: others wait for it. */
const PAGE_ENTRIES = 500;
const PAGE_BYTES = 1_048_576;

/** `{…}`: a cluster keeps both keys of a group on one node. */
export const groupKeys = (prefix: string, group: string): [texts: string, names: string] => [
  `{${prefix}:${group}}:texts`,
  `{${prefix}:${group}}:names`,
];

/**
 * Five arguments for each change: the name, whether a text is expected, which, whether a text takes
 * its place, which. What is missing is `false` in Lua on both sides of the comparison.
 */
const change = `
for i = 1, #ARGV, 5 do
  local expected = ARGV[i + 1] == '1' and ARGV[i + 2]
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= expected then return 0 end
end
for i = 1, #ARGV, 5 do
  if ARGV[i + 3] == '1' then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 4])
    redis.call('ZADD', KEYS[2], 0, ARGV[i])
  else
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('ZREM', KEYS[2], ARGV[i])
  end
end
return 1`;

/** Arguments: the bounds of the names. Answers '1' when more may follow, then names and texts in turn. */
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
  changeGroup: { lua: change, numberOfKeys: 2 },
  pageOfGroup: { lua: page, numberOfKeys: 2 },
};

/** The scripts as a client has them once they are defined. */
export type Scripts = {
  changeGroup(texts: string, names: string, ...changes: readonly string[]): Promise<number>;
  pageOfGroup(texts: string, names: string, from: string, to: Buffer): Promise<readonly string[]>;
};
