package conformance

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The files checks/*.txt hold the checks that are data. A check is a head and the lines below it, to
// the next head. The language is that of the transcripts of httpapi, one line a call:
//
//	# T083 impl nodes: title               statement, source (lit, impl, us), what it needs, title
//	a := METHOD /path [options] > BODY => DEMANDS
//	g := register {"member": value}        registers an agent: the smallest clean body with these members
//	a := screen g 1.50 {"member": value}   screens a payment of the agent
//	k := key operator="LEGAL NAME" role    makes an API key; k.key is its secret
//	a: member.member = JSON                a demand on an earlier answer, see demandMember
//	let name JSON                          keeps a value
//	each name in [JSON]; each name below 3; each node name; each verdict; repeat 3
//	when PROCEED|REVIEW                    below `each verdict`: only for these verdicts
//	ours; ours from here                   what follows is our ruling: left out where only the specification is examined
//
// Lines that belong to each, repeat and ours are indented by tabs. `name :=` keeps the
// answer. A body after > is JSON, after >> it is sent as written, and `clean` before it
// means the members of a clean registration beside those given. Options are separated by
// semicolons: - (no key), key SECRET, node 1, admin, local, fresh, keep429, or a header.
// Demands are separated by commas: see demandAnswer. ${...} is replaced, see valueOf.
//
//go:embed checks/*.txt
var checkFiles embed.FS

// step is one line of a check, with the lines that are indented below it.
type step struct {
	where string // File and line.
	text  string
	inner []step
}

var (
	checkHead   = regexp.MustCompile(`^# (\S+) (lit|impl|us)((?: \w+)*): (.+)$`)
	sourceWords = map[string]Source{"lit": Literal, "impl": Implied, "us": Ruling}
	needWords   = map[string]Need{"nodes": NeedTwoNodes, "admin": NeedAdmin, "egress": NeedEgressCut}
)

// writtenChecks are the checks of all files, in the order of their names.
var writtenChecks = mustReadChecks()

// mustReadChecks reads the files that the binary carries: one that cannot be read is a
// fault of the build.
func mustReadChecks() []Check {
	entries, err := checkFiles.ReadDir("checks")
	if err != nil {
		panic(err)
	}
	var all []Check
	for _, entry := range entries {
		raw, err := checkFiles.ReadFile("checks/" + entry.Name())
		if err != nil {
			panic(err)
		}
		some, err := readChecks(entry.Name(), string(raw))
		if err != nil {
			panic(err)
		}
		all = append(all, some...)
	}
	return all
}

func readChecks(name, text string) (all []Check, err error) {
	lines := strings.Split(text, "\n")
	for at := 0; at < len(lines); {
		if strings.TrimSpace(lines[at]) == "" {
			at++
			continue
		}
		head := checkHead.FindStringSubmatch(lines[at])
		if head == nil {
			return nil, fmt.Errorf("%s:%d: no head of a check: %s", name, at+1, lines[at])
		}
		check := Check{ID: head[1], Source: sourceWords[head[2]], Title: head[4]}
		for _, word := range strings.Fields(head[3]) {
			need, known := needWords[word]
			if !known {
				return nil, fmt.Errorf("%s:%d: unknown need %s", name, at+1, word)
			}
			check.Needs |= need
		}
		var steps []step
		if steps, at, err = readSteps(name, lines, at+1, 0); err != nil {
			return nil, err
		}
		check.run = func(p *probe) { (&script{probe: p, values: p.startValues()}).do(steps) }
		all = append(all, check)
	}
	return all, nil
}

// readSteps reads the lines of one depth, and returns the index of the line after them.
func readSteps(name string, lines []string, at, depth int) (steps []step, next int, err error) {
	for at < len(lines) {
		text := strings.TrimLeft(lines[at], "\t")
		inside := len(lines[at]) - len(text)
		switch {
		case text == "" || strings.HasPrefix(text, "//"):
			at++
			continue
		case inside < depth || strings.HasPrefix(text, "# "):
			return steps, at, nil
		case inside > depth && len(steps) == 0:
			return nil, 0, fmt.Errorf("%s:%d: indented below nothing", name, at+1)
		case inside > depth:
			if steps[len(steps)-1].inner, at, err = readSteps(name, lines, at, depth+1); err != nil {
				return nil, 0, err
			}
			continue
		}
		steps = append(steps, step{where: name + ":" + strconv.Itoa(at+1), text: text})
		at++
	}
	return steps, at, nil
}
