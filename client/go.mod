module railguard/client

go 1.24
