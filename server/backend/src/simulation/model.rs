//! The reference model: what each script and each statement must do, as functions of plain values.
//!
//! It is written from the rules and not from the scripts' lines, it knows no I/O and no clock but the
//! instant that it is given, and `against` compares it with the real stores after each step.

pub(crate) mod hold;
pub(crate) mod house;
pub(crate) mod postgres;
pub(crate) mod reclaim;
pub(crate) mod redis;
pub(crate) mod returns;
pub(crate) mod writing;

/// Deliberately wrong variants. Each must be caught: that shows that the checks can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// A hold that takes a seat of an expired one leaves the rest of that one standing.
    TakeOverWithoutEnding,
    /// A hold takes seats of expired holds and of such as are being paid.
    TakeOverOfPaying,
    /// The writer commits without looking at the position and the epoch.
    WriterUnfenced,
    /// The writer commits without looking at the position.
    WriterIgnoresPosition,
    /// The writer moves its position and writes its rows in two transactions.
    PositionBeforeRows,
    /// A state is put in place over one that was built meanwhile, and sold from.
    SwapOverStanding,
    /// An order changes whatever its version is.
    ApplyWithoutVersion,
    /// Captured money without seats is kept.
    NoRefund,
    /// A payment ends its hold after so long, also where the hold had longer to run.
    PayShortens,
    /// Redis lets a hold run on before Postgres has taken its order back.
    RedisFirst,
    /// A failed payment is taken back by whoever saw it fail, and by nobody else.
    NobodyGoesOn,
    /// The rebuild begins without writing down what the log still has.
    RebuildWithoutDrain,
    /// Late money takes the seats of its order also where somebody else has them.
    ReclaimOfTaken,
    /// What late money has taken is ended while Postgres decides about it.
    LeaseIgnored,
    /// A request to give up what late money has taken ends it also where a later try has it by then.
    GiveUpUnfenced,
    /// Late money makes its order paid without claiming the seats.
    ReclaimWithoutClaims,
    /// Late money that has its seats is given back as well.
    ReclaimAndRefund,
    /// A seat that is given back is freed in Redis whoever owns it by then.
    ReturnOfAnothers,
    /// A seat that is given back stays claimed.
    ReturnKeepsClaims,
    /// A seat that was given back is paid for once more when it is asked for again.
    ReturnTwice,
}
