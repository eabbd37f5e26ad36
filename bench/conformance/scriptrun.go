package conformance

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// script runs one check that is data.
type script struct {
	*probe
	values map[string]any // Kept answers and JSON values, by name.
	at     step
}

var (
	kept       = regexp.MustCompile(`^(\w+) := (.+)$`)
	demanded   = regexp.MustCompile(`^(\w+): (.+)$`)
	eachValue  = regexp.MustCompile(`^each (\w+) in (.+)$`)
	eachNumber = regexp.MustCompile(`^each (\w+) below (\d+)$`)
	eachNode   = regexp.MustCompile(`^each node (\w+)$`)
)

// do runs the steps. It returns true if the rest of the check must not run.
func (s *script) do(steps []step) bool {
	for _, step := range steps {
		s.at = step
		if step.text == "ours from here" {
			if s.cfg.OnlySpec {
				return true
			}
			continue
		}
		if len(step.inner) > 0 {
			s.doInner(step)
			continue
		}
		s.doLine(step.text)
	}
	return false
}

func (s *script) doInner(outer step) {
	number := func(name string, count int) {
		for i := range count {
			s.values[name] = json.Number(strconv.Itoa(i))
			s.do(outer.inner)
		}
	}
	if match := eachNumber.FindStringSubmatch(outer.text); match != nil {
		count, _ := strconv.Atoi(match[2])
		number(match[1], count)
	} else if match := eachNode.FindStringSubmatch(outer.text); match != nil {
		number(match[1], len(s.cfg.BaseURLs))
	} else if match := eachValue.FindStringSubmatch(outer.text); match != nil {
		items, _ := s.json(match[2]).([]any)
		s.known(len(items) > 0)
		for _, item := range items {
			s.values[match[1]] = item
			s.do(outer.inner)
		}
	} else if count, found := strings.CutPrefix(outer.text, "repeat "); found {
		times, _ := strconv.Atoi(count)
		number("", times)
	} else if verdicts, found := strings.CutPrefix(outer.text, "when "); found {
		verdict, there := s.values["verdict"].(string)
		s.known(there)
		if strings.Contains("|"+verdicts+"|", "|"+verdict+"|") {
			s.do(outer.inner)
		}
	} else if outer.text == "each verdict" {
		s.eachVerdict(func(verdict string, a *answer) {
			s.values["verdict"], s.values["a"] = verdict, a
			s.do(outer.inner)
		})
	} else {
		s.known(outer.text == "ours")
		if !s.cfg.OnlySpec {
			s.do(outer.inner)
		}
	}
}

// known ends the check when its text cannot be understood.
func (s *script) known(understood bool) {
	if !understood {
		s.stop("BUG: %s: not understood: %s", s.at.where, s.at.text)
	}
}

func (s *script) doLine(line string) {
	if text, found := strings.CutPrefix(line, "let "); found {
		name, value, _ := strings.Cut(text, " ")
		if members, clean := strings.CutPrefix(value, "clean "); clean {
			s.values[name] = plain(s.clean(members))
			return
		}
		s.values[name] = s.json(value)
		return
	}
	if match := demanded.FindStringSubmatch(line); match != nil {
		a, there := s.values[match[1]].(*answer)
		s.known(there)
		for _, demand := range strings.Split(match[2], ", ") {
			if s.demandAnswer(a, demand) || strings.HasPrefix(demand, "${") && s.demandAnswer(a, s.expand(demand)) {
				continue
			}
			s.demandMember(a, match[2])
			return
		}
		return
	}
	name := ""
	if match := kept.FindStringSubmatch(line); match != nil {
		name, line = match[1], match[2]
	}
	call, demands := line, ""
	if at := strings.LastIndex(line, " => "); at >= 0 {
		call, demands = line[:at], line[at+4:]
	}
	a := s.call(call)
	if name != "" {
		s.values[name] = a
	}
	if demands == "" {
		return
	}
	for _, demand := range strings.Split(demands, ", ") {
		s.known(s.demandAnswer(a, demand))
	}
}

// call makes the call of a line.
func (s *script) call(text string) *answer {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "register", "register?":
		if rest == "" {
			rest = "{}"
		}
		a := s.post("/v1/agents/register", s.clean(rest))
		if word == "register?" && a.status >= 400 && a.status < 500 && !s.cfg.Strict {
			s.skip("the target refuses to issue to a listed operator (status %d)", a.status)
		}
		return s.registered(a).answer
	case "screen":
		rest, options := s.options(rest)
		words := strings.SplitN(rest, " ", 3)
		body := obj{"token": s.textOf(words[0] + ".token"), "amount": json.Number(s.expand(words[1]))}
		if len(words) > 2 {
			s.addMembers(body, words[2])
		}
		return s.post("/v1/screen", body, options...)
	case "key":
		return s.makeKeyOf(rest)
	}
	var body any
	if path, sent, found := strings.Cut(rest, " >> "); found {
		rest = path
		if unquoted, err := strconv.Unquote(sent); err == nil {
			sent = unquoted
		}
		body = literal(s.expand(sent))
	} else if path, sent, found := strings.Cut(rest, " > "); found {
		rest = path
		if members, clean := strings.CutPrefix(sent, "clean "); clean {
			body = s.clean(members)
		} else {
			body = s.json(sent)
		}
	}
	path, options := s.options(rest)
	return s.probe.call(s.expand(word), s.expand(path), body, options...)
}

// addMembers adds the members of one JSON object after another.
func (s *script) addMembers(body obj, text string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	for decoder.More() {
		var tree any
		s.known(decoder.Decode(&tree) == nil)
		members, isObject := s.fill(tree).(map[string]any)
		s.known(isObject)
		for name, value := range members {
			body[name] = value
		}
	}
}

// clean returns a clean registration in which some members are changed. A member with the value
// ${absent} is left out.
func (s *script) clean(members string) obj {
	body := s.registration()
	s.addMembers(body, members)
	for name, value := range body {
		if value == (absent{}) {
			delete(body, name)
		}
	}
	return body
}

// absent is the value of a member that a registration leaves out.
type absent struct{}

// makeKeyOf makes an API key: operator="LEGAL NAME", then roles.
func (s *script) makeKeyOf(text string) *answer {
	operator := ""
	if name, found := strings.CutPrefix(text, "operator="); found {
		quoted, err := strconv.QuotedPrefix(name)
		s.known(err == nil)
		text = name[len(quoted):]
		operator, _ = s.json(quoted).(string)
	}
	made := s.makeKey(operator, strings.Fields(text)...)
	return &answer{tree: map[string]any{"key": made.secret, "keyId": made.id}, status: 201}
}

// options takes the options in brackets off the end of a call.
func (s *script) options(text string) (rest string, options []option) {
	at := strings.LastIndex(text, " [")
	if at < 0 || !strings.HasSuffix(text, "]") {
		return text, nil
	}
	for _, word := range strings.Split(text[at+2:len(text)-1], "; ") {
		name, value, _ := strings.Cut(s.expand(word), " ")
		switch {
		case name == "-":
			options = append(options, anonymous)
		case name == "key":
			options = append(options, withKey(value))
		case name == "node":
			i, err := strconv.Atoi(value)
			s.known(err == nil)
			options = append(options, node(i))
		case name == "admin":
			options = append(options, atBase(s.cfg.AdminURL))
		case name == "local":
			options = append(options, local)
		case name == "fresh":
			options = append(options, fresh)
		case name == "keep429":
			options = append(options, keep429)
		default:
			member, isHeader := strings.CutSuffix(name, ":")
			s.known(isHeader)
			if member == "Authorization" {
				options = append(options, authorization(value))
			} else {
				options = append(options, header(member, value))
			}
		}
	}
	return text[:at], options
}

var placeholder = regexp.MustCompile(`\$\{([^{}]+)\}`)

// json reads a value and replaces its placeholders.
func (s *script) json(text string) any {
	tree, err := decodeTree([]byte(text))
	s.known(err == nil)
	return s.fill(tree)
}

// fill replaces the placeholders in every text of a value. A text that is one placeholder
// becomes its value.
func (s *script) fill(tree any) any {
	switch node := tree.(type) {
	case string:
		if match := placeholder.FindStringSubmatch(node); match != nil && match[0] == node {
			return s.valueOf(match[1])
		}
		if text := placeholder.ReplaceAllStringFunc(node, s.replaced); text != node {
			return s.fill(text) // A placeholder may stand within another.
		}
		return node
	case []any:
		filled := make([]any, len(node))
		for i, item := range node {
			filled[i] = s.fill(item)
		}
		return filled
	case map[string]any:
		filled := make(map[string]any, len(node))
		for name, value := range node {
			filled[s.expand(name)] = s.fill(value)
		}
		return filled
	}
	return tree
}

func (s *script) expand(text string) string {
	for placeholder.MatchString(text) {
		text = placeholder.ReplaceAllStringFunc(text, s.replaced)
	}
	return text
}

func (s *script) replaced(found string) string { return s.textOf(found[2 : len(found)-1]) }

func (s *script) textOf(name string) string {
	switch value := s.valueOf(name).(type) {
	case nil:
		return ""
	case string:
		return value
	case json.Number:
		return string(value)
	default:
		return string(mustJSON(value))
	}
}

// valueOf returns the value of a placeholder: name, name.member.member or name#Header of
// something kept, key (the API key of the run), or one of the words below with an
// argument.
func (s *script) valueOf(name string) any {
	switch _, there := s.values[name]; {
	case there:
	case name == "absent":
		return absent{}
	case name == "key":
		return s.cfg.APIKey
	}
	word, rest, found := strings.Cut(name, ":")
	if !found {
		return s.keptValue(name)
	}
	switch word {
	case "fresh": // fresh:wallet, fresh:key
		if rest == "wallet" {
			return cleanWallet()
		}
		return "conf-" + randomHex(12)
	case "hex": // hex:8, eight random bytes
		count, _ := strconv.Atoi(rest)
		return randomHex(count)
	case "name": // a name that no other agent has
		return s.name(rest)
	case "listed": // a party on the target's list
		return map[string]func() string{"wallet": s.listedWallet, "individual": s.listedIndividual, "company": s.listedCompany}[rest]()
	case "hours": // operating hours that do not hold now
		return plain(otherHours(s.probe))
	case "repeat": // repeat:5:text
		count, text, _ := strings.Cut(rest, ":")
		times, _ := strconv.Atoi(count)
		return strings.Repeat(text, times)
	case "count": // the length of a list
		items, isList := s.valueOf(rest).([]any)
		s.known(isList)
		return json.Number(strconv.Itoa(len(items)))
	case "number": // a text as a number
		return json.Number(s.textOf(rest))
	case "next": // a number plus one
		number, _ := strconv.Atoi(s.textOf(rest))
		return json.Number(strconv.Itoa(number + 1))
	case "upper":
		return strings.ToUpper(s.textOf(rest))
	case "lower":
		return strings.ToLower(s.textOf(rest))
	case "swap":
		return swapCase(s.textOf(rest))
	case "query":
		return url.QueryEscape(s.textOf(rest))
	}
	s.known(false)
	return nil
}

// keptValue is a kept value, a member of it, or a header of a kept answer.
func (s *script) keptValue(name string) any {
	if of, member, found := strings.Cut(name, "#"); found {
		a, there := s.values[of].(*answer)
		s.known(there)
		return a.header.Get(member)
	}
	of, path, _ := strings.Cut(name, ".")
	value, there := s.values[of]
	s.known(there)
	if a, isAnswer := value.(*answer); isAnswer {
		value = a.tree
	}
	found, _ := at(value, path)
	return found
}
