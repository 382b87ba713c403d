-- Plans that take the place of others while seats are sold: numbers stay, what was taken away is gone.

alter table plan_seats add column gone boolean not null default false;

alter table plans
    -- Seats that are gone, counted in seat_count.
    add column gone_count integer not null default 0,
    -- The organizer's plan that this one carries over into the numbers of an older one; none for a plan of
    -- the organizer's own. Such a plan belongs to performances and is in no list.
    add column renews uuid references plans (id);
create index plans_renews on plans (renews) where renews is not null;
