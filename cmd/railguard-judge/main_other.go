//go:build !js

package main

import (
	"flag"
	"fmt"
	"os"
)

// main judges a folder and prints what the page would be told.
func main() {
	keysFile := flag.String("keys", "", "file with the log's verifier keys, or their hash")
	carried := flag.Bool("carried", false, "judge what index.html would carry")
	flag.Parse()
	if err := judgeFolder(flag.Arg(0), *keysFile, *carried); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judgeFolder(folder, keysFile string, carried bool) error {
	q := question{carried: carried}
	if keysFile != "" {
		text, err := os.ReadFile(keysFile)
		if err != nil {
			return err
		}
		q.keys = string(text)
	}
	var err error
	if q.files, err = readFolder(folder); err != nil {
		return err
	}
	if carried {
		delete(q.files, "index.html")
		delete(q.files, "SHA256SUMS")
	}
	_, err = fmt.Println(string(judge(q).encode()))
	return err
}
