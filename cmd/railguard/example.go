package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"railguard/httpapi/description"
)

// Every verb has an example in its help. Unless the table of verbs gives one, the example is
// made of the verb's arguments and required flags, so that it cannot become outdated.

// sampleValues stand for arguments and flags in examples.
var sampleValues = map[string]string{
	"txn": "txn_ntpya6px", "agent": "agt_rfq3ao3wofwz", "fleet": "flt_h2k9d3m5q7ra", "user": "usr_m4c7x2p9t3ka", "alert": "alr_fs5wtzwmmu4e", "cleared": "17",
	"snapshot": "snp_5f0c1d2e3a4b5c6d", "key-id": "key_3f9a1c", "kid": "cc-v2", "entry": "3", "webhook": "whk_1", "backtest": "bt_1f2e3d4c5b6a_n1", "shadow": "shd_1f2e3d4c5b6a_n1", "retro": "evt_4711_0", "id": "n2", "addr": "10.0.0.2:7000",
	"by": "carla", "reason": `"a word on why"`, "comment": `"asked the customer"`, "name": `"Acme Inc"`, "operator-legal-name": `"Acme Inc"`, "legal-name": `"Erika Mustermann"`,
	"agent-name": `"Procurement bot"`, "agent-type": "supervised", "purpose": `"pay invoices"`, "fleet-name": "Europe", "daily-limit": "5000", "amount": "12.5", "token": "eyJhbGciOi…",
	"uid": "27307", "expires-at": "2027-01-01", "disposition": "APPROVED", "to": "n2", "level": "debug", "model": "model-b", "attested-by": "carla", "url": "https://hooks.example.com/railguard",
	"new-operator-legal-name": `"Globex Ltd"`, "parent": "agt_rfq3ao3wofwz", "assignee": "carla", "agents": "agt_rfq3ao3wofwz", "from": "2026-03-01", "underlying-model": "model-b",
}

func sampleOf(name string, kind description.FieldKind) string {
	if value, known := sampleValues[name]; known && (kind != description.NumberField || json.Valid([]byte(value))) {
		return value
	}
	switch kind {
	case description.NumberField:
		return "2"
	case description.TruthField, oppositeField:
		return ""
	case description.JSONField:
		return "'{}'"
	}
	return strings.ToUpper(name)
}

// exampleOf returns the verb's own example, or one line with everything the verb requires.
func (v *verb) exampleOf() string {
	if v.example != "" {
		return v.example
	}
	line := "  railguard " + v.path
	for _, arg := range v.argumentNames() {
		line += " " + sampleOf(arg, "")
	}
	if v.loose != "" {
		line += " " + sampleOf(v.loose, "")
	}
	for _, list := range [][]field{v.fields, v.query} {
		for i := range list {
			_, preset := v.preset[list[i].memberName()]
			if f := &list[i]; f.required && !preset {
				line = strings.TrimRight(line+" --"+f.flag+" "+sampleOf(f.flag, f.kind), " ")
			}
		}
	}
	return line
}

// ownExamples are the examples of commands that are not in the table of verbs.
var ownExamples = map[string]string{
	"railguard backup inspect":         "  railguard backup inspect railguard-2026-03-22.age --identity backup.key",
	"railguard backup verify":          "  railguard backup verify railguard-2026-03-22.age --identity backup.key",
	"railguard cluster status":         "  railguard cluster status --url http://n2:8080",
	"railguard cluster upgrade status": "  railguard cluster upgrade status",
	"railguard dump":                   "  railguard dump /var/lib/railguard/raft",
	"railguard health":                 "  railguard health --url http://n2:8080",
	"railguard policy put":             `  railguard policy put policy.yaml --reason "a longer service level"`,
	"railguard tls show":               "  railguard tls show /etc/railguard/tls/n1.crt",
	"railguard version":                "  railguard version",
}

// giveExamples sets the examples of a command and its subcommands.
func giveExamples(cmd *cobra.Command) {
	if text, known := ownExamples[cmd.CommandPath()]; known {
		cmd.Example = text
	}
	for _, inner := range cmd.Commands() {
		giveExamples(inner)
	}
}
