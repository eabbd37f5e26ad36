package names_test
import ("testing";"os";"railguard/bench/names")
func XTestMiss(t *testing.T){ d:=load(t); f,_:=names.NewFit(d); o,_:=os.Create("/tmp/w/miss.txt"); f.Misses(o); o.Close() }
