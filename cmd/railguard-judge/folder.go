package main

import (
	"io"

	"railguard/audit/bundle"
)

// readFolder reads a bundle into memory, as the page does.
func readFolder(folder string) (bundle.Files, error) {
	names, err := bundle.Folder(folder).Names()
	if err != nil {
		return nil, err
	}
	files := bundle.Files{}
	for _, name := range names {
		file, err := bundle.Folder(folder).Open(name)
		if err != nil {
			return nil, err
		}
		files[name], err = io.ReadAll(file)
		_ = file.Close()
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
