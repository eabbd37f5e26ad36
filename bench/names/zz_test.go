package names_test

import (
	"fmt"
	"os"
	"railguard/bench/names"
	"sort"
	"testing"
	"time"
)

func TestFit(t *testing.T) {
	d := load(t)
	f, err := names.NewFit(d)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	v, _ := f.Eval(0)
	fmt.Println(v, time.Since(start))
	if os.Getenv("MIN") != "" {
		dur, _ := time.ParseDuration(os.Getenv("MIN"))
		f.Climb(os.Stdout, time.Now().Add(dur), os.Getenv("ONLY"))
		f.Print(os.Stdout)
	}
	for _, h := range []int{0, 1} {
		v, c := f.Eval(h)
		fmt.Println("held", h, v)
		var ks []string
		for k := range c {
			ks = append(ks, k)
		}
		sort.Strings(ks)
		for _, k := range ks {
			fmt.Printf("%-40s %6d %6.2f\n", k, c[k][1], 100*float64(c[k][0])/float64(c[k][1]))
		}
	}
}
