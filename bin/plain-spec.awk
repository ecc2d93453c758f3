# Tells a spec that concerns no GPU from one that has to be looked at: awk -v words=RE -v majors=RE -f plain-spec.awk FILE
#
# Exit 0: sound JSON without a word of GPUs, its devices, rules and mounts written the way engines write them, and no
# device numbers but such as every container has. There is nothing to do and nothing to say. Exit 1: anything else, any
# doubt included; Python then decides. tests/unit/test_plain_spec.py holds the two side by side.
#
# words: what every text that gives a container a GPU holds, in lower case. majors: device majors that no GPU has.
BEGIN {
  RS = "="  # in parts, by what every variable has: a huge file is given up early (one record of 20 MB takes mawk 2 s)
}
{ text = text (NR > 1 ? "=" : "") $0 }
length(text) > 65536 { exit }
END { exit !is_plain(text) }

function is_plain(json) {
  if (length(json) > 65536 || tolower(json) ~ words || json !~ /^[ \t\n\r]*[{]/ || json ~ /[^\t\n\r -~]/) return 0
  # Escapes do no harm but for those that could spell a word. Go writes & < > as \u0026 \u003c \u003e.
  gsub(/\\(["\\\/bfnrt]|u00(26|3[cCeE]))/, "_", json)
  return !index(json, "\\") && is_sound(json) && has_plain_members(json)
}

# Whether a text is JSON: what is whole becomes a "v", from the inside out, until one is left.
function is_sound(json,   rounds) {
  gsub(/"[^"\t\n\r]*"/, "\"", json)
  gsub(/[ \t\n\r]+/, " ", json)
  gsub(/-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?|true|false|null/, "v", json)
  gsub(/ /, "", json)
  gsub(/":/, "k", json)
  gsub(/"/, "v", json)
  while (json != "v" && rounds++ < 50)
    if (!gsub(/[{](kv(,kv)*)?[}]|[[](v(,v)*)?[]]/, "v", json)) return 0
  return json == "v"
}

# Whether the members that matter are what engines write, wherever they stand. Members are in the order of the structs in
# runtime-spec's config.go; whatever differs is left to Python.
function has_plain_members(json,   text, texts, numbers, fuse, rule, node, mount) {
  if (index(json, "\n")) gsub(/\n[ \t]*/, "", json)
  if (index(json, "\": ")) gsub(/": /, "\":", json)
  if (index(json, ", ")) gsub(/, /, ",", json)
  if (index(json, "\" :") || json ~ /[\t\r]/) return 0
  members = json
  lower = tolower(json)
  text = "\"[^\"]*\""
  texts = list_of(text)
  numbers = "(,\"major\":(" majors "))?(,\"minor\":[0-9][0-9]?[0-9]?)?"
  fuse = "false,\"type\":\"c\",\"major\":10,\"minor\":229"  # docker denies it to everybody
  rule = "[{]\"allow\":(false|" fuse "|true(,\"type\":\"[abc]\")?" numbers "),\"access\":\"[rwm]+\"[}]"
  node = "[{]\"path\":" text ",\"type\":\"[cu]\"" numbers "(,\"(fileMode|uid|gid)\":[0-9]*)*[}]"
  mount = "[{]\"destination\":" text "(,\"type\":" text ")?(,\"source\":" text ")?(,\"options\":" texts ")?[}]"
  if (json ~ fuse && json ~ /"allow":true,"type":"[bc]"(,"major":10|,"minor":[0-9]*)?,"access"/) return 0  # a hole
  return each("linux", "[{]", 1) && each("resources", "[{]", 1) && each("process", "[{]", 1) && \
    each("mounts", list_of(mount), 1) && each("annotations", "[{](" text ":" text "(," text ":" text ")*)?[}]", 1) && \
    each("devices", list_of("(" rule "|" node ")"), 2) && each("env", texts, 99)
}

function list_of(form) { return "[[](" form "(," form ")*)?[]]" }

# Whether every member of that name, in whatever case (Go reads "Linux" as linux), has the exact name and the form, and
# there are no more than most.
function each(name, form, most,   key, at, from) {
  key = "\"" name "\":"
  form = "^" key form
  for (from = 1; at = index(substr(lower, from), key); from += at)
    if (!most-- || substr(members, from + at - 1) !~ form) return 0
  return 1
}
