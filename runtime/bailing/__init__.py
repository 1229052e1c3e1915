"""Lost bets: where a run goes on after a guard fails."""
