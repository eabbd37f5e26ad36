package match

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/text"
)

func TestZZ(t *testing.T) {
	entities := listtest.RealEntities(t, "2025-11-19")
	if os.Getenv("STRIP") != "" {
		for i := range entities {
			var kept []list.Name
			for _, n := range entities[i].Names {
				if !text.HasLossy(n.Full) {
					kept = append(kept, n)
				}
			}
			entities[i].Names = kept
		}
	}
	x := mustBuild(t, entities)
	s := NewScratch()
	for _, n := range strings.Split(os.Getenv("ZZ"), "|") {
		spoken, _ := text.SpeakHan(n)
		kana, _ := text.AppendKana(nil, n)
		fmt.Println("==", n, "=>", spoken, string(kana))
		r := x.Screen(&Query{Name: n}, s)
		for _, m := range r.Matches[:min(3, len(r.Matches))] {
			fmt.Println("   ", m.Outcome, m.UID, m.Name, "|", m.Alias, m.Form, m.Score, m.Strict, m.Sub, m.Lists)
		}
	}
}
