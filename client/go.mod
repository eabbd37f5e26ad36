module github.com/railguard/railguard/client

go 1.24
