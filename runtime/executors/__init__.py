"""Who answers the calls of one program: profiling executors, specialising ones, and what chooses among them."""
