"""The pure heart of firedup: bytes, facts and `now` in, frozen values out."""
