module railguard/ci/image

go 1.26.0

require github.com/moby/patternmatcher v0.6.1
