//go:build !nextformat

package engine

// FormatNewest is the highest this binary can apply.
const FormatNewest = Format1
