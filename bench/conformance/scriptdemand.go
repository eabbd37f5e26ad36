package conformance

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	statusDemand  = regexp.MustCompile(`^(\d{3}(?:\|\d{3})*)(?: (\w+))?$`)
	verdictDemand = regexp.MustCompile(`^(PROCEED|REVIEW|BLOCK|UNKNOWN)(?: (\w+))?$`)
)

// demandAnswer makes a demand on a whole answer. It returns false if the text is no such demand.
// The demands are:
//
//	200, 200|204      one of these statuses
//	422 missing_field the status and the error code
//	4xx               any 4xx; refused: any 4xx without a token; failed: not 2xx; no fault: below 500
//	ok                a success with a JSON body; tool and unshown: a target that lacks the endpoint is skipped
//	verdict           200 with a verdict
//	REVIEW R10_LIMIT  the verdict and its rule; REVIEW alone: whatever the rule
//	agent             a registration: agentId and token; remember: no log may hold its token
//	replayed by b     the answer b is a replay of this one
func (s *script) demandAnswer(a *answer, demand string) bool {
	if match := statusDemand.FindStringSubmatch(demand); match != nil {
		if match[2] != "" {
			status, _ := strconv.Atoi(match[1])
			s.refused(a, status, match[2])
			return true
		}
		wanted := strings.Split(match[1], "|")
		s.must(slices.Contains(wanted, strconv.Itoa(a.status)), "%s: %s %s: status %d, want %s", s.at.where, a.method, a.path, a.status, match[1])
		return true
	}
	if match := verdictDemand.FindStringSubmatch(demand); match != nil {
		s.status(a, 200)
		if match[2] != "" || match[1] == "PROCEED" {
			s.verdict(a, match[1], match[2])
			return true
		}
		s.must(a.text("verdict") == match[1], "%s: verdict %q (%s), want %s", s.at.where, a.text("verdict"), a.text("rule"), match[1])
		return true
	}
	if other, found := strings.CutPrefix(demand, "replayed by "); found {
		second, there := s.values[other].(*answer)
		s.known(there)
		s.replays(a, second)
		return true
	}
	switch demand {
	case "ok":
		s.success(a)
	case "tool":
		s.tool(a)
	case "unshown":
		s.unshown(a)
	case "refused":
		s.refusedAnyhow(a)
	case "verdict":
		s.status(a, 200)
		s.must(allVerdict[a.text("verdict")], "%s: verdict is %q", s.at.where, a.text("verdict"))
	case "agent":
		s.registered(a)
	case "remember":
		s.ledger.remember(a.text("token"))
	case "4xx":
		s.expect(a.status >= 400 && a.status < 500, "%s: %s %s: status %d, want a refusal", s.at.where, a.method, a.path, a.status)
	case "failed":
		s.expect(!a.ok(), "%s: %s %s: status %d, want a refusal", s.at.where, a.method, a.path, a.status)
	case "no fault":
		s.expect(a.status < 500, "%s: %s %s: status %d", s.at.where, a.method, a.path, a.status)
	default:
		return false
	}
	return true
}

var memberDemand = regexp.MustCompile(`^(\S+) (=|not|literal|has|lacks|begins|ends|like|names|count at least|count at most|count|text|number|array|object|boolean|null|time|there|absent|nothing|empty|filled|at least)(?: (.+))?$`)

// demandMember makes a demand on one member of an answer. If the name of the member begins with
// #, the demand is on that header; "body" is the body as it came. The words of a demand are:
//
//	member = JSON       the member equals the JSON; numbers are compared by their value
//	member not JSON     the member is absent or differs from the JSON
//	member literal 1.0  the member is the number, written exactly so
//	member text         the member is a text that is not empty; likewise number, array, object,
//	                    boolean, null, and time (ISO 8601, UTC)
//	member there        the member exists; absent is the opposite
//	member nothing      the member is absent or null
//	member empty        the member has no text; filled is the opposite
//	member at least 3   the member is a number of 3 or more
//	member has "part"   the text contains the part; likewise lacks, begins, ends
//	member like "a.*"   the regular expression matches the text, or the number as it was written
//	member names "R9"   the list names the rule
//	member count 3      the list has 3 items; likewise count at least 3, count at most 3
func (s *script) demandMember(a *answer, text string) {
	match := memberDemand.FindStringSubmatch(text)
	s.known(match != nil)
	path, word := s.expand(match[1]), match[2]
	var want any
	if match[3] != "" && !strings.HasPrefix(word, "count") {
		want = s.json(match[3])
	}
	value, there := a.at(path)
	if name, isHeader := strings.CutPrefix(path, "#"); isHeader {
		value, there = a.header.Get(name), true
	} else if path == "body" && !there {
		value, there = string(a.raw), true
	}
	shown, _ := value.(string)
	wanted, _ := want.(string)
	var holds bool
	switch word {
	case "=":
		holds = there && sameTree(value, plain(want))
	case "not":
		holds = !there || !sameTree(value, plain(want))
	case "literal":
		holds = a.number(path) == wanted
	case "has":
		holds = strings.Contains(shown, wanted)
	case "lacks":
		holds = !strings.Contains(shown, wanted)
	case "begins":
		holds = strings.HasPrefix(shown, wanted)
	case "ends":
		holds = strings.HasSuffix(shown, wanted)
	case "like":
		holds = there && regexp.MustCompile(wanted).MatchString(shown+a.number(path))
	case "there":
		holds = there
	case "absent":
		holds = !there
	case "nothing":
		holds = value == nil
	case "at least":
		number, isNumber := rational(a.number(path))
		least, isLeast := rational(match[3])
		holds = isNumber && isLeast && number.Cmp(least) >= 0
	case "empty":
		holds = shown == ""
	case "filled", "text":
		holds = shown != ""
	case "time":
		s.utcText(shown, path)
		holds = true
	case "names":
		items, _ := value.([]any)
		holds = mentions(items, wanted)
	case "count", "count at least", "count at most":
		items, isList := value.([]any)
		count, err := strconv.Atoi(s.expand(match[3]))
		s.known(err == nil)
		holds = isList && (len(items) == count || len(items) > count && word == "count at least" || len(items) < count && word == "count at most")
	default:
		holds = there && kind(value) == word
	}
	s.expect(holds, "%s: %s %s: %s is %s, want %s %s", s.at.where, a.method, a.path, path, show(value), word, s.expand(match[3]))
}
