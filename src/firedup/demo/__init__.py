"""What `firedup demo` is made of: a small real engine, its models, prompts and two replays."""
