//go:build !nextformat

package engine

// FormatNewest is the highest format that this binary can apply.
const FormatNewest = formatEnd - 1
